"""SillyTavern's own request bodies: its post-processing, its conversions for each provider, and the settings it sends.

`innkeeper.dialects.sillytavern.dialect.SillyTavern` is the dialect; a provider is a module.
"""
