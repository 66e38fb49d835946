# Recomputes, from what demo --json prints, every hash that both parties rely on, with
# nothing of Bindery: this file and the language's own library.
import hashlib, json, sys


def canonical(value):
    # The members here have ASCII names and integers only, where this is RFC 8785.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def anchor(party, seal):
    prev = "genesis" if party["prev_hash"] is None else party["prev_hash"]
    return sha256(f"{seal}|{prev}|{party['chain_seq']}".encode())


demo = json.load(sys.stdin)
record = {k: v for k, v in demo["record"].items() if k not in ("prev_hash", "chain_seq")}
seal = sha256(canonical(record))
agents = sorted([demo["initiator"]["agent_id"], demo["responder"]["agent_id"]])
result = {
    "joint_seal": seal,
    "agreement_hash": sha256(canonical(demo["terms"])),
    "chain_id": sha256("|".join(agents).encode()),
}
for role in ("initiator", "responder"):
    party = demo[role]
    result[role + "_anchor"] = anchor(party, seal)
    result[role + "_closed"] = sha256(party["closed_mandate"].encode())
    result[role + "_open"] = sha256(party["open_mandate"].split("~")[0].encode() + b"~")
print(json.dumps(result))
