package bindery_test

import (
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// One way to read JSON that is hashed, signed or sealed: package jcs. These tests hold the module
// to it. They look at the sources alone: they know names, and no types.

// A mention is a place in the source that names a function of a package, or a method.
type mention struct {
	file *goFile
	fn   string // the declaration it stands in: "Hold.Triple", "readJSON"
	decl ast.Decl
	node ast.Node
	path string // of the package; the room's own for a bare call, "" for a method
	name string
	args []ast.Expr // nil if it is not called
}

// mentions are all qualified names, bare calls and methods of the given files.
func mentions(files []*goFile) (list []mention) {
	for _, f := range files {
		for _, decl := range f.Decls {
			called := map[ast.Expr][]ast.Expr{}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					called[n.Fun] = n.Args
					if id, ok := n.Fun.(*ast.Ident); ok {
						list = append(list, mention{f, declared(decl), decl, n, module + "/" + f.room, id.Name, n.Args})
					}
				case *ast.SelectorExpr:
					pkg := ""
					if x, ok := n.X.(*ast.Ident); ok {
						pkg = f.imports(x.Name)
					}
					list = append(list, mention{f, declared(decl), decl, n, pkg, n.Sel.Name, called[n]})
				}
				return true
			})
		}
	}
	return list
}

// imports is the path of the import that goes by name in f, "" if there is none.
func (f *goFile) imports(name string) string {
	for i, p := range f.imported() {
		known := path.Base(p)
		if f.Imports[i].Name != nil {
			known = f.Imports[i].Name.Name
		}
		if known == name {
			return p
		}
	}
	return ""
}

func declared(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return d.Name.Name
		}
		recv := d.Recv.List[0].Type
		if star, ok := recv.(*ast.StarExpr); ok {
			recv = star.X
		}
		return types.ExprString(recv) + "." + d.Name.Name
	case *ast.GenDecl:
		if spec, ok := d.Specs[0].(*ast.TypeSpec); ok {
			return spec.Name.Name
		}
	}
	return ""
}

// otherJSON lists every use of encoding/json outside of tests, with the reason why nothing is
// hashed, signed or sealed by what is read or written there.
var otherJSON = [...]struct{ file, fn, name, why string }{
	{"a2acrossing/card.go", "Card.JSON", "Marshal", "the Agent Card is written for others to read; nobody hashes or signs it"},
	{"a2acrossing/handler.go", "object", "NewDecoder", "an answer of ours becomes the A2A library's, which writes it; whoever receives it reads it with jcs"},
	{"a2acrossing/peer.go", "Peer.Exchange", "RawMessage", "canonical bytes go into a request as they are"},
	{"a2acrossing/peer.go", "Peer.Seal", "RawMessage", "canonical bytes go into a request as they are"},
	{"a2acrossing/peer.go", "Peer.call", "Marshal", "a request is written; the other side hashes what jcs reads of it"},
	{"a2acrossing/server.go", "member", "RawMessage", "finds where a member stands in a body that jcs has accepted"},
	{"a2acrossing/server.go", "member", "Unmarshal", "finds where a member stands in a body that jcs has accepted; what stands there is read with jcs"},
	{"internal/cli/home.go", "trusted", "RawMessage", "a pinned key is kept as text, and read with jcs"},
	{"internal/cli/keys.go", "keyEntry", "RawMessage", "a public key is kept as text, and read with jcs"},
	{"internal/cli/home.go", "config", "RawMessage", "a gateway's configuration is kept as text, and read with jcs"},
	{"internal/cli/home.go", "writeJSON", "MarshalIndent", "a party's own two files, which nothing hashes"},
	{"examples/release-approver/tools.go", "schema", "RawMessage", "schemas of tools are given to the SDK as text"},
	{"mcpenvelope/wire.go", "raw", "RawMessage", "values that the SDK carries are kept as they are spelled"},
	{"mcpenvelope/wire.go", "parseObject", "Unmarshal", "finds where a member stands; what is an envelope or a resolution is read with jcs, from its bytes"},
	{"mcpenvelope/wire.go", "encode", "Marshal", "results and lists are written for the other side, which hashes what jcs reads of them"},
	{"mcpenvelope/wire.go", "decode", "Unmarshal", "finds where a value stands; what is an envelope or a resolution is read with jcs, from its bytes"},
	// Kits: no part of a program.
	{"internal/browsertest/tab.go", "Tab.Axe", "Unmarshal", "the findings of axe-core, which decide nothing but a test"},
	{"internal/gatewaytest/message.go", "raw", "RawMessage", "tests send and compare bytes as they came"},
	{"internal/gatewaytest/message.go", "decode", "Unmarshal", "tests read messages with another parser than the code they test"},
	{"internal/tools/mutants/gotool.go", "writeOverlay", "Marshal", "an overlay for the go command"},
	{"internal/wiretest/json.go", "JSON", "NewEncoder", "tests send what no builder of ours can write"},
	{"internal/wiretest/json.go", "Parse", "NewDecoder", "tests read answers with another parser than the code they test"},
	{"internal/wiretest/seal.go", "Number", "RawMessage", "tests send numbers as they are spelled"},
	{"internal/wiretest/wire.go", "Answer.Result", "RawMessage", "tests read answers with another parser than the code they test"},
	{"internal/wiretest/wire.go", "Answer.Result", "Unmarshal", "tests read answers with another parser than the code they test"},
	{"internal/wiretest/wire.go", "Answer.Code", "Number", "tests read answers with another parser than the code they test"},
}

// TestOtherJSON: values, roles and adapters, which hash, sign, seal and store, know no parser but
// jcs. Speakers and the command line know another one at the places listed, and hash, sign and
// seal nothing in a file that does.
//
// covers GC-215
func TestOtherJSON(t *testing.T) {
	seen := [len(otherJSON)]bool{}
	noTests := slices.DeleteFunc(slices.Clone(goFiles(t)), func(f *goFile) bool { return f.test })
	for _, m := range mentions(noTests) {
		if !under(m.path, "encoding/json") {
			continue
		}
		if kind := rooms[m.file.room].kind; !slices.Contains([]string{speakers, command, kits}, kind) {
			t.Errorf("%s: %s know no parser but jcs", m.file.at(m.node), kind)
		}
		found := false
		for i, e := range otherJSON {
			if e.file == m.file.path && e.fn == m.fn && e.name == m.name {
				seen[i], found = true, true
			}
		}
		if !found {
			t.Errorf("%s: json.%s in %q is not in otherJSON: read it with jcs, or say why not", m.file.at(m.node), m.name, m.fn)
		}
	}
	for i, e := range otherJSON {
		if !seen[i] {
			t.Errorf("otherJSON: there is no json.%s in %s of %s", e.name, e.fn, e.file)
		}
		for _, d := range digests {
			if d.file == e.file {
				t.Errorf("%s uses encoding/json, and hashes or signs in %s", e.file, d.fn)
			}
		}
	}
	for _, f := range noTests {
		for i, p := range f.imported() {
			if name := f.Imports[i].Name; name != nil && name.Name == "." || under(p, "encoding/json/v2") || under(p, "encoding/json/jsontext") {
				t.Errorf("%s imports %s, or imports it with a dot", f.path, p)
			}
		}
	}
}

// TestForeignParserDecidesNothing: the A2A library parses each message on its own, with float64
// for numbers. Of what it has parsed of ours, only the presence is looked at.
//
// covers GC-215
func TestForeignParserDecidesNothing(t *testing.T) {
	asked := 0
	for _, f := range production(t) {
		if f.room != "a2acrossing" {
			continue
		}
		harmless := map[ast.Node]bool{}
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, lhs := range n.Lhs {
					harmless[indexed(lhs)] = true // written
				}
				if blank, ok := n.Lhs[0].(*ast.Ident); ok && blank.Name == "_" {
					harmless[indexed(n.Rhs[0])] = true // asked for
					asked++
				}
			case *ast.SelectorExpr:
				if n.Sel.Name == "Metadata" && !harmless[n] {
					t.Errorf("%s: reads what another parser made of a message", f.at(n))
				}
			}
			return true
		})
	}
	if asked == 0 {
		t.Error("nothing asks for the presence of metadata: this test watches a place that is gone")
	}
}

func indexed(e ast.Expr) ast.Node {
	if index, ok := e.(*ast.IndexExpr); ok {
		return index.X
	}
	return nil
}

// A preimage says what a digest or a signature is taken over.
type preimage string

const (
	fromJCS   preimage = "canonical JSON"  // which jcs has made, as TestDigests shows
	byJCS     preimage = "JSON"            // of which the function itself takes the canonical form
	asIs      preimage = "a token"         // or a part of one, in its exact bytes (design J6, M4)
	secret    preimage = "a secret"        // which is no JSON
	plain     preimage = "plain text"      // no JSON, as the clause has it
	hashed    preimage = "a digest"        // of the row before
	foreign   preimage = "others' bytes"   // as they came, JSON or not: what was seen of them, for nobody to compute anew
	forCaller preimage = "a parameter"     // of a function whose callers have rows themselves
	ofOurs    preimage = "a value of ours" // whose Sign has a row itself, or ends in one that has
)

// A hasher is a function that hashes or signs, by package, and which of its arguments it is that
// it is taken over. Names end in * for all that begin so.
type hasher struct {
	path, name string
	arg        int
}

var hashers = []hasher{
	{"crypto/sha256", "Sum*", 0},
	{"crypto/sha256", "New*", -1},
	{"crypto/sha512", "Sum*", 0},
	{"crypto/sha512", "New*", -1},
	{"crypto/hmac", "New*", -1},
	{"crypto/ecdsa", "Sign*", -1},
	{"crypto/ecdsa", "Verify*", -1},
	{"crypto/ed25519", "Sign*", -1},
	{"crypto/ed25519", "Verify*", -1},
	{"crypto/rsa", "Sign*", -1},
	{"crypto/rsa", "Verify*", -1},
	{module + "/jcs", "HexOf", 0},
	{module + "/jcs", "Sum256", 0},
	{module + "/jcs", "Sum384", 0},
	{module + "/jcs", "Digest256", 0},
	{module + "/jcs", "Digest384", 0},
	{module + "/internal/jose", "SignCompact", 2},
	{module + "/internal/sdjwt", "Issue", 1},
	{module + "/mandate", "signStatement", 2},
	{"", "Sign", 0},
}

// cryptography is what may be imported of it. Of these, hashers names all that hash or sign.
var cryptography = []string{
	"crypto", "crypto/ecdsa", "crypto/elliptic", "crypto/rand", "crypto/sha256", "crypto/sha512", "crypto/subtle", "crypto/x509",
	"crypto/ed25519", "crypto/rsa", "crypto/tls", "crypto/hmac",
}

// A digest is a place in a program at which bytes are hashed or signed: what is called, and its
// argument as it is written.
type digest struct {
	file, fn, name, arg string
	over                preimage
}

// digests lists them all, outside of jcs.
var digests = []digest{
	{"actionbinding/action.go", "Action.Bind", "Sum256", "preimage", fromJCS},
	{"actionbinding/action.go", "Action.Bind", "Sum384", "preimage", fromJCS},
	{"envelope/digest.go", "digestOf", "Sum256", "v.Bytes()", fromJCS},
	{"envelope/ledger.go", "textDigest", "HexOf", "b", foreign},
	{"envelope/same.go", "askingOf", "HexOf", "[]byte(sameKey(e.Stem()))", plain},
	{"envelope/same.go", "askingOf", "HexOf", `[]byte(strings.Join(slices.Compact(keys), "\n"))`, plain},
	{"examples/release-approver/catalogue.go", "load", "HexOf", "v.content", foreign},
	{"examples/release-approver/catalogue.go", "view.action", "HexOf", "jcs.Object(action...)", fromJCS},
	{"examples/release-approver/office.go", "office.matterFile", "HexOf", "[]byte(r.subject())", plain},
	{"examples/release-approver/office.go", "office.folder", "HexOf", "[]byte(r.recipient)", plain},
	{"mcpenvelope/emitter.go", "SessionOf", "HexOf", `[]byte("bindery-session-v1\n" + id)`, secret},
	{"mcpenvelope/state.go", "sealer.mac", "New", "", plain},
	{"mcpenvelope/state.go", "Bridge.state", "HexOf", "canonical", foreign},
	{"internal/cli/gateway_upstream.go", "upstreamName", "HexOf", "jcs.Array(items...)", fromJCS},
	{"internal/toolaction/numbers.go", "settler.adjudicate", "HexOf", "s.tool.InputSchema.Bytes()", fromJCS},
	{"internal/toolaction/scope.go", "Tool.scope", "HexOf", "governed", fromJCS},
	{"api/authority.go", "Publication.Statement", "HexOf", "p.Projection.Bytes()", fromJCS},
	{"api/credential.go", "CredentialHash", "HexOf", "[]byte(token)", secret},
	{"api/credential.go", "SecretHash", "HexOf", "[]byte(secret)", secret},
	{"api/hold.go", "Hold.Triple", "HexOf", "[]byte(h.InitiatorClosed)", asIs},
	{"api/hold.go", "Hold.Triple", "HexOf", "[]byte(h.ResponderClosed)", asIs},
	{"api/registry.go", "Revoked.Sign", "SignCompact", "r.Bytes()", fromJCS},
	{"api/peer.go", "PeerEnrolled.Sign", "SignCompact", "p.Bytes()", fromJCS},
	{"api/proof.go", "KeyProof.Sign", "SignCompact", "p.Bytes()", fromJCS},
	{"api/proof.go", "Enrol.Prove", "Sign", "s", ofOurs},
	{"api/units.go", "Consumed.Sign", "SignCompact", "c.Bytes()", fromJCS},
	{"chain/chain.go", "ID", "HexOf", `[]byte(min(agentA, agentB) + "|" + max(agentA, agentB))`, plain},
	{"chain/chain.go", "Position.Anchor", "HexOf", `[]byte(string(jointSeal) + "|" + prev + "|" + strconv.FormatInt(p.Seq, 10))`, plain},
	{"client/office.go", "Registry.Consume", "HexOf", "[]byte(req.Token)", asIs},
	{"client/registry.go", "Registry.registered", "HexOf", "[]byte(token)", asIs},
	{"commitment/profile.go", "Profile.Digest", "New", "", plain},
	{"crossing/record.go", "Record.JointSeal", "HexOf", "r.Bytes()", fromJCS},
	{"crossing/record.go", "JointSealOf", "HexOf", "jcs.Object(m...)", fromJCS},
	{"crossing/seal.go", "SealParams.JointSeal", "HexOf", "p.RecordBytes", fromJCS},
	{"crossing/terms.go", "ParseTerms", "HexOf", "v.Bytes()", fromJCS},
	{"internal/authority/enrol.go", "secretHash", "HexOf", `[]byte("bindery-va-code-v1\n" + secret)`, secret},
	{"internal/authority/enrol.go", "Authority.EnrolRegistry", "HexOf", "req.Bytes()", fromJCS},
	{"internal/authority/publish.go", "Authority.put", "SignCompact", "p.Projection.Bytes()", fromJCS},
	{"internal/authority/publish.go", "Authority.conflict", "HexOf", "p.Bytes()", fromJCS},
	{"internal/centre/publish.go", "Centre.publication", "SignCompact", "p.Statement()", fromJCS},
	{"internal/centre/responder.go", "Centre.registered", "HexOf", "[]byte(closed)", asIs},
	{"internal/centre/responder.go", "Centre.signClosed", "Sign", "c.cfg.Self.Agent", ofOurs},
	{"internal/centre/seal.go", "Centre.finish", "HexOf", "[]byte(x.OwnClosed)", asIs},
	{"internal/cli/canon.go", "digester", "Digest256", "", byJCS},
	{"internal/cli/canon.go", "digester", "Digest384", "", byJCS},
	{"internal/cli/init.go", "home.enrolment", "HexOf", "[]byte(h.secrets.ClearanceID)", secret},
	{"internal/cli/joining.go", "codeHash", "HexOf", "[]byte(strings.TrimSpace(code))", secret},
	{"internal/cli/mandate.go", "grantOpen", "Sign", "principal", ofOurs},
	{"internal/cli/mandates.go", "app.mandateClose", "HexOf", "[]byte(token)", asIs},
	{"internal/cli/node.go", "node.profile", "HexOf", "[]byte(n.secrets.ClearanceID)", secret},
	{"internal/cli/peers.go", "home.effectorAt", "HexOf", `[]byte("bindery-effector-v1\n" + registryKey + "\n" + h.secrets.Effector)`, secret},
	{"internal/httpapi/revocation.go", "edge.serveList", "HexOf", "token", asIs},
	{"internal/httpapi/authority.go", "verifyTag", "HexOf", "jcs.Object(fixed...)", fromJCS},
	{"internal/jose/compact.go", "SignCompact", "Sign", "[]byte(input)", asIs},
	{"internal/jose/compact.go", "Compact.Verify", "Sum256", "[]byte(c.SigningInput)", asIs},
	{"internal/jose/compact.go", "Compact.Verify", "Verify", "", hashed},
	{"internal/jose/key.go", "NewKey", "Sum256", "canonicalJWK(point)", fromJCS},
	{"internal/jose/signer.go", "Signer.Sign", "Sum256", "signingInput", forCaller},
	{"internal/jose/signer.go", "Signer.Sign", "Sign", "rand.Reader", hashed},
	{"internal/jose/signer.go", "Signer.Sign", "VerifyASN1", "", hashed},
	{"internal/jose/signer.go", "Signer.Sign", "Sign", "signingInput", forCaller},
	{"internal/agentauth/keys.go", "NewKey", "HexOf", "[]byte(secret)", secret},
	{"internal/agentauth/keys.go", "registered.find", "HexOf", "[]byte(secret)", secret},
	{"internal/agentauth/seen.go", "seen.has", "Sum256", "[]byte(token)", asIs},
	{"internal/agentauth/seen.go", "seen.add", "Sum256", "[]byte(token)", asIs},
	{"internal/agentauth/token.go", "confirmed", "Sum256", "leaf.Raw", plain},
	{"internal/gateway/outcome.go", "newSeeing", "New", "", foreign},
	{"internal/gateway/outcome.go", "judged", "HexOf", "[]byte(a.RequestState)", asIs},
	{"internal/gateway/post.go", "digestOf", "HexOf", "b", foreign},
	{"internal/gateway/post.go", "continuation", "HexOf", "[]byte(state)", asIs},
	{"internal/gateway/post.go", "continuation", "HexOf", "responses.Bytes()", fromJCS},
	{"internal/gateway/session.go", "sessionTag", "New", "", secret},
	{"internal/gateway/tasks.go", "taskKey", "HexOf", "[]byte(upstream + nul + task)", asIs},
	{"internal/audit/gateway.go", "Entry.LineAfter", "HexOf", "sealed", fromJCS},
	{"internal/audit/gateway.go", "Entry.Sum", "HexOf", "jcs.Object(e.members()...)", fromJCS},
	{"internal/audit/gateway.go", "digestOf", "HexOf", "[]byte(s)", asIs},
	{"internal/execution/finding.go", "Registry.Reconcile", "HexOf", "c.Evidence", asIs},
	{"internal/execution/finding.go", "Registry.Reconcile", "SignCompact", "f.findingPayload(row)", fromJCS},
	{"internal/execution/permit.go", "answerDigest", "HexOf", "answer", asIs},
	{"internal/audit/head.go", "Head.Sign", "SignCompact", "payload", fromJCS},
	{"internal/audit/ledger.go", "Ledger[R].sign", "Sign", "l.Signer", ofOurs},
	{"internal/audit/row.go", "Row.Sum", "HexOf", "jcs.Object(r.members()...)", fromJCS},
	{"internal/registry/closed.go", "Registry.RegisterClosed", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/enrol.go", "Registry.NewCode", "HexOf", "[]byte(secret)", secret},
	{"internal/registry/enrol.go", "Registry.Enrol", "HexOf", "[]byte(req.Secret)", secret},
	{"internal/registry/enrol.go", "Registry.enrol", "HexOf", "req.Bytes()", fromJCS},
	{"internal/registry/enrol.go", "Registry.enrol", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/enrol.go", "Registry.Principal", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/statuslist.go", "Registry.addOpen", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/statuslist.go", "Registry.StatusList", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/statuslist.go", "shuffled", "Sum256", "block", secret},
	{"internal/registry/peer.go", "Registry.EnrolPeer", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/peer.go", "Registry.EnrolPeer", "HexOf", "[]byte(req.Secret)", secret},
	{"internal/registry/peer.go", "Registry.EnrolPeer", "HexOf", "req.Bytes()", fromJCS},
	{"internal/registry/release.go", "Registry.release", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/spend.go", "Registry.sign", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/spend.go", "Registry.refuse", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/status.go", "Registry.Status", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/status.go", "Registry.Revoke", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/units.go", "Registry.Consume", "Sign", "r.cfg.Signer", ofOurs},
	{"internal/registry/units.go", "consumption", "HexOf", "req.Bytes()", fromJCS},
	{"internal/registry/units.go", "consumption", "HexOf", "[]byte(req.Token)", asIs},
	{"internal/sdjwt/disclosure.go", "digestOf", "Sum256", "[]byte(encoded)", asIs},
	{"internal/sdjwt/issue.go", "Issue", "SignCompact", "jcs.Object(members...)", fromJCS},
	{"internal/sdjwt/parse.go", "Token.TokenHash", "HexOf", "[]byte(t.raw)", asIs},
	{"internal/sdjwt/parse.go", "Token.SignedHash", "HexOf", "[]byte(t.jws.SigningInput)", asIs},
	{"internal/sdjwt/parse.go", "Token.OpenHash", "HexOf", "[]byte(t.Bare())", asIs},
	{"internal/store/sqlstore/seals.go", "bind", "HexOf", "[]byte(closed)", asIs},
	{"signer/signer.go", "New", "VerifyASN1", "", hashed},
	{"mandate/draft.go", "OpenDraft.Sign", "Issue", "jcs.Object(members...)", fromJCS},
	{"mandate/draft.go", "ClosedDraft.Sign", "Issue", "jcs.Object(d.members()...)", fromJCS},
	{"mandate/open.go", "presentationHash", "Sum256", "[]byte(presented)", asIs},
	{"mandate/principal.go", "Principal.Sign", "signStatement", "jcs.Object(members...)", fromJCS},
	{"mandate/publisher.go", "PublisherGrant.Sign", "signStatement", "payload", fromJCS},
	{"mandate/receipt.go", "SpendReceipt.Sign", "signStatement", "payload", fromJCS},
	{"mandate/receipt.go", "FinalRefusal.Sign", "signStatement", "payload", fromJCS},
	{"mandate/registration.go", "Registration.Sign", "signStatement", "jcs.Object(members...)", fromJCS},
	{"mandate/statuslist.go", "StatusList.Sign", "signStatement", "payload", fromJCS},
	{"mandate/statement.go", "signStatement", "SignCompact", "payload", forCaller},
	{"mandate/status.go", "Status.Sign", "signStatement", "jcs.Object(m...)", fromJCS},
}

// TestDigests: a new place where bytes are hashed or signed has to be declared. Where they are
// JSON, jcs has made them.
//
// covers GC-215
func TestDigests(t *testing.T) {
	seen := make([]bool, len(digests))
	all := mentions(production(t))
	origin := &origin{files: production(t), known: map[string]bool{}}
	for _, f := range production(t) {
		for _, imp := range f.imported() {
			if (under(imp, "crypto") || under(imp, "hash")) && !slices.Contains(cryptography, imp) {
				t.Errorf("%s imports %s: what hashes or signs has to be in hashers", f.path, imp)
			}
		}
	}
	for _, m := range all {
		h := m.hasher()
		if h == nil || m.file.room == "jcs" {
			continue
		}
		var arg ast.Expr
		text := ""
		if h.arg >= 0 && h.arg < len(m.args) {
			arg = m.args[h.arg]
			text = types.ExprString(arg)
		}
		found := false
		for i, d := range digests {
			if d.file != m.file.path || d.fn != m.fn || d.name != m.name || d.arg != text {
				continue
			}
			seen[i], found = true, true
			if fault := d.fault(m, arg, origin); fault != "" {
				t.Errorf("%s: %s(%s): %s", m.file.at(m.node), m.name, text, fault)
			}
		}
		if !found {
			t.Errorf("%s: {%q, %q, %q, %q} has no row in digests", m.file.at(m.node), m.file.path, m.fn, m.name, text)
		}
	}
	for i, d := range digests {
		if !seen[i] {
			t.Errorf("digests: there is no %s(%s) in %s of %s", d.name, d.arg, d.fn, d.file)
		}
	}
}

// fault says why the argument is not what the row claims, "" if it is.
func (d digest) fault(m mention, arg ast.Expr, o *origin) string {
	fn, _ := m.decl.(*ast.FuncDecl)
	switch {
	case fn == nil:
		return "is in no function"
	case d.over == fromJCS && (arg == nil || !o.isJCS(m.file, m.decl, arg)):
		return "jcs has not made these bytes " + o.blame
	case d.over == byJCS && (m.path != module+"/jcs" || m.name == "HexOf"):
		return "takes bytes as they are"
	case d.over == forCaller && !slices.ContainsFunc(fn.Type.Params.List, func(p *ast.Field) bool {
		return slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return n.Name == d.arg })
	}):
		return "is no parameter"
	case d.over == forCaller && !slices.ContainsFunc(hashers, func(h hasher) bool { return h.name == fn.Name.Name }):
		return "callers of " + m.fn + " have no rows: it is not in hashers"
	}
	return ""
}

// hasher is the row of hashers that m falls under, nil if it hashes and signs nothing.
func (m *mention) hasher() *hasher {
	for i, h := range hashers {
		prefix, many := strings.CutSuffix(h.name, "*")
		switch {
		case h.path != m.path || m.name != prefix && !(many && strings.HasPrefix(m.name, prefix)):
		case h.path == "" && len(m.args) == 0: // big.Int has a Sign too
		default:
			return &hashers[i]
		}
	}
	return nil
}
