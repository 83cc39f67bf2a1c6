"""Services: how they are filled in, checked and given addresses and ports."""
