package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A party's two files are closed objects: names are what they are, to the letter, and no
// other parser's leniency says which of two members holds.
//
// covers GC-215
func TestOwnFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "B")
	h, err := initHome(t.Context(), dir, initOptions{
		principal: "urn:anax:principal:globex", trustBasis: "self_declared", pack: "p/1.0.0", protection: protection{throwaway: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]string{}
	for _, name := range []string{configFile, secretsFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = string(b)
	}
	for _, tt := range []struct{ what, file, old, new, want string }{
		{"another case", configFile, `"principal": "urn`, `"PRINCIPAL": "urn:x", "principal": "urn`, "/PRINCIPAL"},
		{"another case alone", configFile, `"principal": "urn`, `"Principal": "urn`, "/principal"},
		{"unknown", configFile, `"roles":`, `"rules": [], "roles":`, "/rules"},
		{"unknown, deeper", configFile, `"agc_level":`, `"AGC_level": 9, "agc_level":`, "/clearance/AGC_level"},
		{"unknown, in a key", configFile, `"public":`, `"Signer": {}, "public":`, "/keys/agent/Signer"},
		{"unknown, in a plug-in", configFile, `"public":`, `"signer": {"exec": [], "shell": true}, "public":`, "/keys/agent/signer/shell"},
		{"twice", configFile, `"name":`, `"name": "x", "name":`, "name"},
		{"missing", configFile, `"name": "globex",`, ``, "/name"},
		{"a number", configFile, `"name": "globex"`, `"name": 7`, "/name"},
		{"a text", configFile, `"agc_level": 0`, `"agc_level": "0"`, "/clearance/agc_level"},
		{"a fraction", configFile, `"agc_level": 0`, `"agc_level": 0.5`, "integer"},
		{"null", configFile, `"name": "globex"`, `"name": null`, "/name"},
		{"no list", configFile, `"roles": [`, `"roles": "ra", "x": [`, "/roles"},
		{"not of texts", configFile, `"roles": [`, `"roles": [1,`, "/roles"},
		{"no object", configFile, `"clearance": {`, `"clearance": [], "x": {`, "/clearance"},
		{"more after it", configFile, "}\n}\n", "}\n}\n{}", ""},
		{"secrets, another case", secretsFile, `"operator_credential"`, `"Operator_credential"`, "perator_credential"},
		{"secrets, unknown", secretsFile, `"clearance_id"`, `"note": "", "clearance_id"`, "/note"},
		{"secrets, missing", secretsFile, `"agent_credential"`, `"x"`, "/"},
	} {
		altered := strings.Replace(whole[tt.file], tt.old, tt.new, 1)
		if altered == whole[tt.file] {
			t.Fatalf("%s: %s does not hold %s", tt.what, tt.file, tt.old)
		}
		write(t, filepath.Join(dir, tt.file), altered)
		_, err := openHome(dir)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.file) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line that names %q", tt.what, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), h.secrets.Operator) {
			t.Errorf("%s: the error shows a secret", tt.what)
		}
		write(t, filepath.Join(dir, tt.file), whole[tt.file])
	}
	// What is written is read again, and so is a directory from before there was release, or
	// anything else that may be left out.
	again, err := openHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	for file, v := range map[string]any{configFile: again.config, secretsFile: again.secrets} {
		if b, err := json.MarshalIndent(v, "", "  "); err != nil || string(b)+"\n" != whole[file] {
			t.Errorf("%s is read as\n%s", file, b)
		}
	}
	var old map[string]json.RawMessage
	if err := json.Unmarshal([]byte(whole[configFile]), &old); err != nil {
		t.Fatal(err)
	}
	for name := range old {
		switch name {
		case "principal", "name", "agent_id", "clearance", "ra", "va", "roles", "addr", "admin_addr":
		default:
			delete(old, name)
		}
	}
	b, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, configFile), string(b))
	if _, err := openHome(dir); err != nil {
		t.Errorf("of an older version: %v", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
