"""Running a build: its pipeline of steps, the state they change, its context, its variables, the application's extensions."""
