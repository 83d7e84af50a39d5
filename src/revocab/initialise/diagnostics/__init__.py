"""What new rows look like beside copied ones."""
