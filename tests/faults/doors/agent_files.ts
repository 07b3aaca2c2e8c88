/** What a participant of the Agent2Agent protocol hands out: a card, and the answer to a question. */

/** Stand in files for what is known only as the agent is asked. */
export const OWN = "http://127.0.0.1:1";
export const ID = "THE-ID";

export const CARD = JSON.stringify(
  {
    ...{ name: "a stranger", description: "of a file", version: "1", url: OWN },
    supportedInterfaces: [
      { url: `${OWN}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    ],
    capabilities: { streaming: false },
    ...{ defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] },
    skills: [{ id: "s", name: "adds", description: "adds numbers", tags: ["math"] }],
  },
  null,
  1,
);

export const ANSWER = JSON.stringify(
  {
    ...{ jsonrpc: "2.0", id: ID },
    result: {
      task: {
        ...{ id: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } },
        artifacts: [{ artifactId: "a", parts: [{ text: "four" }, { data: { sum: 4 } }] }],
      },
    },
  },
  null,
  1,
);
