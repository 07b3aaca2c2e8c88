"""Questions of finance that are made here, with answers that are computed."""
