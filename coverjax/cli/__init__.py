"""The command line: one file a verb; `main` imports only the verb that was asked for."""
