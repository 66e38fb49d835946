package centre

// LoseSpender takes the RA's spending interface from a responder, as a restart without it
// would.
func (c *Centre) LoseSpender() { c.cfg.Spender = nil }
