"""Speed measured against a floor and a peer in the same run; ratios are the result, not seconds."""
