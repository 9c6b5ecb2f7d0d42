"""What engines print when they start and when they are measured, and the errors of predictions."""
