"""Who is asked before something is written: webhooks and admission policies."""
