package authority_test

// A whole record, its canonical bytes hashed with Python:
// hashlib.sha256(json.dumps(record, sort_keys=True, separators=(',',':')).encode()).
const (
	record = `{"a2a_context":{"artifact_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","context_id":"context-1","task_id":"task-1"},"agreement_hash":"51d2361f4faea3bc8f9facdbc7d99abb555596a2e51f7b25fd3b41c93587e616","commitment_act":"engagement_code_issuance","commitment_class":"irreversible","created_at":"2026-09-01T11:58:00Z","crossing_id":"7f3c1a52-5d0e-4b7a-9c41-0a6f2d9be001","magnitude_asserted":1,"parties":[{"agc_level":3,"agent_id":"urn:anax:agent:trust","clearance_id_hash":"547060e3a88d9f94b0fb1c5c4a1c4c7950e51a8d495e581c56f92f1d665d7617","closed_mandate_hash":"a2416e5f10407150601a501dd8ca765146dfecb54b3d9e602165cef1112df658","governance_basis":{"pack_id":"pack-trust","pack_version":"1.2.0"},"open_mandate_hash":"5d31e0f293fc240775caafb5f5b8879a3a6f1c7cab22f6a9cf996942f76d8efd","principal_id":"urn:anax:principal:trust","role":"initiator","signer_role":"agent","trust_basis":"self_declared"},{"agc_level":3,"agent_id":"urn:anax:agent:anax","clearance_id_hash":"fc7c018da0838682b09ebb30fe31f25f0d7a0ed08cd43607fdd4c20f487aabcc","closed_mandate_hash":"74006cc7cacab93559487e81ef72f7edea798c37cec1a1d5e5b36795e4c5e125","governance_basis":{"pack_id":"pack-anax","pack_version":"1.2.0"},"open_mandate_hash":"48f48dc548c8155c59d80d82964cb2d141d04507e6ea06ddffdc647a88015a81","principal_id":"urn:anax:principal:anax","role":"responder","signer_role":"agent","trust_basis":"self_declared"}],"record":"anax-bilateral-crossing-v1","timestamps":{"mandates_verified_at":"2026-09-01T11:59:00Z","sealed_at":"2026-09-01T12:00:00Z","terms_agreed_at":"2026-09-01T11:59:30Z"}}`

	recordSeal = "9d1890ad73042c722716153a2d43721b06e0c2e0d84ed2420b4e8573e83bf762"
	// The anchor of that seal at the genesis: sha256(seal + "|genesis|0"), with Python.
	recordAnchor = "e4644fa6b35b7510ed697dba42daaf6f50847ee92e7d142c737abf2649450021"
)
