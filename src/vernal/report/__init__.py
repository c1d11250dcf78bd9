"""Text, tables, plots and HTML: how a result is shown."""
