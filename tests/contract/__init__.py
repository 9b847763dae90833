"""What holds between this package and the real SDKs, whatever their version."""
