package centre

const MaxResumed = maxResumed

// LoseSpender takes the RA's spending interface from a responder, as a restart without it
// would.
func (c *Centre) LoseSpender() { c.cfg.Spender, c.cfg.Effector = nil, nil }

// Resolving puts f in front of the resolver.
func (c *Centre) Resolving(f func(Resolver) Resolver) { c.cfg.Resolver = f(c.cfg.Resolver) }
