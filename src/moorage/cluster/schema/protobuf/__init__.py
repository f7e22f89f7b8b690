"""Objects as Kubernetes' own clients send them: in protobuf messages."""
