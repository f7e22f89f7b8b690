"""The Common Expression Language as Kubernetes has it: compile, check, estimate and evaluate. No I/O."""
