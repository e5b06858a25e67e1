"""Coverage as a training signal: objectives, policy training, advantages for reinforcement learning."""
