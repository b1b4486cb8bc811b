"""Who else works in the CRM, and what works in it by itself."""
