"""The long property: whatever a provider answers, nothing of it comes out and nothing changes for the caller."""
