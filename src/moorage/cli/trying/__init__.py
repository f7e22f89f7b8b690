"""Commands that try a change before it is made: record, replay, shadow, capacity, sweep, tune."""
