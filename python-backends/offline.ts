/**
 * What keeps a worker from fetching: its own guard (`pare_backends/offline.py`), and the libraries'
 * own switches, which give them the cache without a try at the hub.
 */
export const OFFLINE_VARIABLES: Readonly<Record<string, string>> = {
  PARE_OFFLINE: "1",
  HF_HUB_OFFLINE: "1",
  HF_DATASETS_OFFLINE: "1",
  TRANSFORMERS_OFFLINE: "1",
};
