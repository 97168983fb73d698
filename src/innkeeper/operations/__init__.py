"""Operations: what can be asked of the product, each declared once; the doors are made from them."""
