package methodvalue

func (pool[T]) look() {}
