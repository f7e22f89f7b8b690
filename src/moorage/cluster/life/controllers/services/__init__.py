"""What stands behind Services: EndpointSlices, and the older Endpoints."""
