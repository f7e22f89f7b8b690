"""The controllers of persistent volumes and their claims."""
