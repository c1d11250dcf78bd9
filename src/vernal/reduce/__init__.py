"""One module per reduction, each with a direction and a lift."""
