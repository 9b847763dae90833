"""Reading what was recorded: economics, migration from the text protocol. Pure: records come as dictionaries."""
