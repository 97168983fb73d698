"""The gateway surface: SmartTavern's operations under their paths, with its envelope (smarttavern reference, 9)."""
