"""DynamicResources: devices that pods claim."""
