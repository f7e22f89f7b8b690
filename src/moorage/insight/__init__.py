"""Why a pod went where it did, or nowhere: the decision log, explanations and advice."""
