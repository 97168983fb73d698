"""Dimensions of media, by the name that content gives them: see `innkeeper.tokens.dimensions`."""

from innkeeper.tokens.dimensions import PictureSize, picture_size, seconds_of

__all__ = ["PictureSize", "picture_size", "seconds_of"]
