"""The words: pages whose links, commands and paths exist."""
