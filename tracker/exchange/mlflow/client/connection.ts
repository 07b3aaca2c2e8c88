import { readFileSync } from "node:fs";
import { UsageError } from "../../../../core/mod.ts";
import { withoutSecrets } from "../../../ground/http/without_secrets.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** How to reach an MLflow server. Only `shown` may be stored or printed. */
export interface Connection {
  /** Base of every call, without user and password; ends without a slash. */
  readonly base: string;
  /** The same, without query: for people, logs and files. */
  readonly shown: string;
  /** The header that proves who we are; null: none. */
  readonly authorization: string | null;
  /** PEM text of the certificates that the server's is checked with; null: the system's. */
  readonly certificates: string | null;
  /** Takes any certificate: whoever is in between can read and change everything. */
  readonly insecure: boolean;
  /** Words that must never leave this process. */
  readonly secrets: readonly string[];
}

function encodeBasic(user: string, password: string): string {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  return `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

/** Text with user and password taken out of every address in it. */
export function withoutCredentials(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#]*@/gi, "$1");
}

/** What a sentence may show of an address that is none: nothing that could be a secret. */
function harmless(uri: string): string {
  return uri.replace(/^.*@/s, "…@").replace(/[?#].*$/s, "");
}

function parseUri(uri: string): URL {
  let url: URL;
  try {
    url = new URL(uri);
  } catch {
    throw new UsageError(
      `Cannot use "${harmless(uri)}" as the MLflow server: give its address, such as ` +
        `http://127.0.0.1:5000`,
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new UsageError(
      `Cannot use "${harmless(uri)}" as the MLflow server: only http and https are ` +
        `spoken; start a server over that store, or import it with pare import mlflow`,
    );
  }
  return url;
}

/** User and password win over the token; those of the variables over those in the address. */
function authorizationOf(url: URL, variables: Variables) {
  const user = variables["MLFLOW_TRACKING_USERNAME"] || decodeURIComponent(url.username);
  const password = variables["MLFLOW_TRACKING_PASSWORD"] || decodeURIComponent(url.password);
  const token = variables["MLFLOW_TRACKING_TOKEN"] ?? "";
  if (user !== "" || password !== "") {
    return { authorization: encodeBasic(user, password), secrets: [password] };
  }
  if (token !== "") return { authorization: `Bearer ${token}`, secrets: [token] };
  return { authorization: null, secrets: [] };
}

function isInsecure(variables: Variables): boolean {
  const insecure = /^(1|true)$/i.test(variables["MLFLOW_TRACKING_INSECURE_TLS"] ?? "");
  if (!insecure || !variables["MLFLOW_TRACKING_SERVER_CERT_PATH"]) return insecure;
  throw new UsageError(
    "Cannot both check the server's certificate and leave that out: unset " +
      "MLFLOW_TRACKING_INSECURE_TLS or MLFLOW_TRACKING_SERVER_CERT_PATH",
  );
}

function certificatesOf(variables: Variables): string | null {
  const path = variables["MLFLOW_TRACKING_SERVER_CERT_PATH"];
  if (!path) return null;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`Cannot read MLFLOW_TRACKING_SERVER_CERT_PATH: ${reason}`);
  }
  if (text.includes("-----BEGIN CERTIFICATE-----")) return text;
  throw new UsageError(
    `Cannot use MLFLOW_TRACKING_SERVER_CERT_PATH as ${path} holds no certificate: it must be a ` +
      "file in PEM form",
  );
}

/** The server that an address and the usual `MLFLOW_TRACKING_…` variables name. */
export function connectionOf(uri: string, variables: Variables): Connection {
  const url = parseUri(uri);
  const { authorization, secrets } = authorizationOf(url, variables);
  url.username = "";
  url.password = "";
  url.hash = "";
  url.search = ""; // MLflow knows no query there, and a token in it must not be kept
  const base = url.href.replace(/\/+$/, "");
  return {
    base,
    shown: base,
    authorization,
    insecure: isInsecure(variables),
    certificates: certificatesOf(variables),
    secrets: [...secrets, authorization?.split(" ")[1] ?? ""].filter((word) => word.length > 2),
  };
}

/** A text that may be printed: secrets and credentials in addresses are struck out. */
export function redact(text: string, { secrets }: Pick<Connection, "secrets">): string {
  const bare = withoutSecrets(withoutCredentials(text), ...secrets);
  return secrets.reduce((out, word) => out.replaceAll(word, "***"), bare);
}
