"""Typed assets: characters, lorebooks, presets, personas and chats, parsed once and never changed."""
