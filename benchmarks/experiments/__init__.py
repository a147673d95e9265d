"""What is run: `catalogue` names every experiment."""
