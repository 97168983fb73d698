"""Operations that ask the library what it would decide."""
