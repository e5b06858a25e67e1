"""What can be sampled, per input: laws over outcomes, router-generators, and families of both."""
