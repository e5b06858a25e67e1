"""Simulation: any policy by one scan, independent draws by jumping from discovery to discovery."""
