package promoted

func (b *base[T]) grow() {}
