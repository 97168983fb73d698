"""The prompt texts of a stock SillyTavern's extensions: functions over their settings, card names and chats.

`cfg` (guidance), `memory` (the chat's summary), `vectors` (passages by what the chat is about) and `note` (defaults of the
author's note). Each is called at one moment of a build, which its module names. Without their settings they cost nothing.
"""
