"""Operations on jobs: pictures and videos that are made behind a request."""
