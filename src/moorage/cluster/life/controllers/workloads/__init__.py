"""The controllers that keep pods as numerous and as new as their owners want them."""
