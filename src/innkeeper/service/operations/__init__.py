"""Operations over HTTP: the paths of those that work on a library, who asks, and the surfaces they make up."""
