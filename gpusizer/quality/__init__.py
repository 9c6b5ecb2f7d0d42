"""What each quantization costs in quality: pure functions over published measurements."""
