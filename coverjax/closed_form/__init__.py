"""Laws whose curves have a formula: exact values, no sampling."""
