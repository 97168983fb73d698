"""What a build runs with: its pipeline of steps, the state they change, its context, its variables, what the application adds."""
