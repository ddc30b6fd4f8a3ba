package generic

func (p *Pool[K, V]) get(k K) V { return p.all[k] }
