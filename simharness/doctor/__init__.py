"""Audits somebody else's environment: is it fit to train on?"""
