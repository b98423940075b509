"""What extractors share: number of components, targets, criteria, deflation."""
